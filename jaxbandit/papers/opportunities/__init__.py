"""The opportunities paper: experiments, figures and claims."""
