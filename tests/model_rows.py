"""A row for each model: its name, arguments, options away from their defaults, what it is applied to, and the function
of architectures.py that says what comes out. tests/python/test_models.py tries Python's class and the core's,
tests/conformance/test_model_rows.py each language's."""

MODELS = [
    ("lenet", (), {"num_classes": 3}, (2, 1, 28, 28), ("lenet",)),
    ("resnet18", (), {"num_classes": 3}, (2, 3, 64, 64), ("resnet", (2, 2, 2, 2), False)),
    ("mobilenet_v2", (), {"num_classes": 3, "dropout": 0.3}, (2, 3, 64, 64), ("mobilenet_v2",)),
    (
        "vit_b_16",
        (),
        {
            "num_classes": 3, "image_size": 32, "patch_size": 16, "num_layers": 2, "num_heads": 2, "hidden_dim": 8,
            "mlp_dim": 12, "dropout": 0.3,
        },
        (2, 3, 32, 32),
        ("vit", 2, 2),
    ),
    (
        "gpt2",
        (),
        {"vocabulary": 11, "context": 9, "width": 12, "layers": 2, "heads": 3, "dropout": 0.3},
        (2, 7),
        ("gpt2", 2, 3),
    ),
    (
        "lstm_lm",
        (11,),
        {"width": 6, "hidden": 5, "layers": 2, "dropout": 0.3},
        (2, 7),
        ("lstm_lm", 2, 5),
    ),
]  # fmt: skip

# They are as large as half a gigabyte, and take the options of others: not every language makes them.
LARGE = [
    ("alexnet", (), {"num_classes": 7}, (1, 3, 64, 64), ("alexnet",)),
    ("vgg11", (), {"num_classes": 7}, (1, 3, 32, 32), ("vgg11",)),
    ("resnet34", (), {}, (1, 3, 64, 64), ("resnet", (3, 4, 6, 3), False)),
    ("resnet50", (), {}, (1, 3, 64, 64), ("resnet", (3, 4, 6, 3), True)),
]
