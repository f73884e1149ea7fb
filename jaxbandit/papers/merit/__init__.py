"""The merit paper: experiments, figures and claims."""
