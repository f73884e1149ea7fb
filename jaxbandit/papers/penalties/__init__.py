"""The penalties paper: experiments, figures and claims."""
