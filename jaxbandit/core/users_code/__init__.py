"""Users' classes: checks of what their methods return, and words on what goes wrong in them."""
