"""What hooks see and change: the five stages, over hooks in this process and outside it."""
