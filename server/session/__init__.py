"""One client: frames in, at most one turn alive, frames out."""
