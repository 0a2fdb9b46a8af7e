"""The models that may answer: choosing, finding, fetching and loading them."""
