"""Numbers that configs, models and estimators share; it imports nothing."""

TABLE_CASES = 600  # cases up to which counts are tabulated: beyond, the recurrences underflow
MOST_POINTS = 10_000  # for alpha

CLASS_PRIOR = (1.0, 1.0)  # f_0, f_1
ALPHA_PRIOR = (0.5, 5.0)  # shape and rate, of alpha and of the mixture model's alpha_0
NAIVE_ALPHA_POINTS = 30

# the samplers of the mixture model
COLLAPSED = {"chains": 4, "iterations": 400, "burn_in": 100, "alpha_points": 200}
# section "A Simulation Experiment", mixture; how many are dropped it does not say
THESIS = {"chains": 1, "iterations": 50, "burn_in": 10, "alpha_points": 10}
