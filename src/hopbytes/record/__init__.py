"""Recording what a program really sends."""
