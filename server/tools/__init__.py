"""Tools of the model, and the stages that every call passes."""
