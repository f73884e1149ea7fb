"""The plays paper: experiments, figures and claims."""
