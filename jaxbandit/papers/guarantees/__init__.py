"""The guarantees paper: experiments, figures and claims."""
