"""A row for each optimizer and each schedule, for the tests of all languages."""

# Every setting, away from its default: each is tried alone and all together.
SETTINGS = {
    "SGD": {"momentum": 0.9, "dampening": 0.5, "weight_decay": 0.1, "maximize": True},
    "Adam": {
        "betas": (0.8, 0.9),
        "eps": 1e-3,
        "weight_decay": 0.1,
        "amsgrad": True,
        "maximize": True,
        "decoupled_weight_decay": True,
    },
    "AdamW": {"betas": (0.8, 0.9), "weight_decay": 0.3, "amsgrad": True, "maximize": True},
    "RMSprop": {
        "alpha": 0.8,
        "eps": 1e-3,
        "weight_decay": 0.1,
        "momentum": 0.5,
        "centered": True,
        "maximize": True,
    },
    "Adagrad": {
        "lr_decay": 0.1,
        "weight_decay": 0.1,
        "initial_accumulator_value": 0.5,
        "eps": 1e-3,
        "maximize": True,
    },
    "Adadelta": {"rho": 0.5, "eps": 1e-3, "weight_decay": 0.1, "maximize": True},
    "Adamax": {"betas": (0.8, 0.9), "eps": 1e-3, "weight_decay": 0.1, "maximize": True},
    "NAdam": {
        "betas": (0.8, 0.9),
        "eps": 1e-3,
        "weight_decay": 0.1,
        "momentum_decay": 0.1,
        "decoupled_weight_decay": True,
        "maximize": True,
    },
    "RAdam": {
        "betas": (0.8, 0.9),
        "eps": 1e-3,
        "weight_decay": 0.1,
        "decoupled_weight_decay": True,
        "maximize": True,
    },
    "ASGD": {"lambd": 0.1, "alpha": 0.5, "t0": 4.0, "weight_decay": 0.1, "maximize": True},
    "Rprop": {"etas": (0.3, 1.5), "step_sizes": (1e-3, 0.05), "maximize": True},
}

# Settings in the order of the row.
SCHEDULES = {
    "StepLR": (3, 0.5),
    "MultiStepLR": ([2, 5, 5, 11], 0.5),
    "ConstantLR": (0.4, 6),
    "LinearLR": (0.25, 0.75, 8),
    "ExponentialLR": (0.9,),
    "PolynomialLR": (12, 2.0),
    "CosineAnnealingLR": (4, 0.01),
}
