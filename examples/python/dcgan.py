"""Two networks that play against each other (DCGAN, arXiv 1511.06434): one draws digits, one judges them.

python dcgan.py DIR [epochs] [folder for the picture] [images]

DIR has MNIST's train-images-idx3-ubyte.gz. One sees both losses, and dcgan.png, what the generator draws after
each epoch from the same random numbers: noise becomes strokes, and these begin to look like digits. An epoch
takes about a minute on two CPU cores. examples/c/dcgan.c is the same program.
"""

import os

import dumbtorch as torch
from dumbtorch import nn
from dumbtorch.nn import functional as F
from pictures import read_arguments, save_grid
from progress import ProgressBar

NOISE, BATCH = 64, 64


def draw_weights(model):
    """The paper's initial weights, for the convolutions."""
    for parameter in model.parameters():
        if parameter.dim() == 4:
            nn.init.normal_(parameter, std=0.02)
    return model


def make_generator():
    return draw_weights(
        nn.Sequential(
            nn.ConvTranspose2d(NOISE, 64, 7, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
            nn.ConvTranspose2d(64, 32, 4, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU(),
            nn.ConvTranspose2d(32, 1, 4, 2, 1), nn.Tanh(),
        )
    )  # fmt: skip


def make_judge():
    return draw_weights(
        nn.Sequential(
            nn.Conv2d(1, 32, 4, 2, 1), nn.LeakyReLU(0.2),
            nn.Conv2d(32, 64, 4, 2, 1, bias=False), nn.BatchNorm2d(64), nn.LeakyReLU(0.2),
            nn.Conv2d(64, 1, 7), nn.Flatten(),
        )
    )  # fmt: skip


def judge_loss(judge, images, real: bool):
    """How wrong the judge is about images that are all real, or all drawn."""
    scores = judge(images)
    return F.binary_cross_entropy_with_logits(scores, torch.full(scores.shape, float(real)))


def train_step(generator, judge, optimizers, images) -> tuple[float, float]:
    """The judge learns to tell them apart; the generator learns what the judge takes for real."""
    drawn = generator(torch.randn(len(images), NOISE, 1, 1))
    optimizers[1].zero_grad()
    found = judge_loss(judge, images, True) + judge_loss(judge, drawn.detach(), False)
    found.backward()
    optimizers[1].step()
    optimizers[0].zero_grad()
    fooled = judge_loss(judge, drawn, True)
    fooled.backward()
    optimizers[0].step()
    return fooled.item(), found.item()


def main() -> None:
    images, epochs, folder = read_arguments(__doc__)
    images = (images / 127.5 - 1).unsqueeze(1)
    torch.manual_seed(0)
    generator, judge = make_generator(), make_judge()
    models = (generator, judge)
    optimizers = [torch.optim.Adam(m.parameters(), lr=2e-4, betas=(0.5, 0.999)) for m in models]
    noise, rows = torch.randn(10, NOISE, 1, 1), []
    batches = len(images) // BATCH
    bar = ProgressBar(epochs * batches)
    for epoch in range(1, epochs + 1):
        order = torch.randperm(len(images))
        for i in range(batches):
            batch = images[order[i * BATCH : (i + 1) * BATCH]]
            fooled, found = train_step(generator, judge, optimizers, batch)
            bar.update((epoch - 1) * batches + i + 1, f"loss {fooled:.4f}")
        bar.write(f"epoch {epoch} generator {fooled:.4f} judge {found:.4f}")
        with torch.no_grad():
            rows.append((generator(noise) + 1) / 2)
        save_grid(torch.cat(rows), 10, os.path.join(folder, "dcgan.png"))


if __name__ == "__main__":
    main()
