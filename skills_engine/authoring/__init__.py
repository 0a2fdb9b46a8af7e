"""Tools for skill authors. At run time, a reload runs the tests of what it has changed."""
