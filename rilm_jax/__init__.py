"""Language models whose output layer is geometry."""
