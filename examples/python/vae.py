"""A variational autoencoder (arXiv 1312.6114): images from 8 numbers each, and new ones from random numbers.

python vae.py DIR [epochs] [folder for the pictures] [images]

DIR has MNIST's train-images-idx3-ubyte.gz. One sees the loss of each epoch (about 121 after 5), and two
pictures: vae_copies.png, where every second row is the row above after it went through 8 numbers, and
vae_samples.png, digits that nobody has written. examples/c/vae.c is the same program.
"""

import os

import dumbtorch as torch
from dumbtorch import nn
from dumbtorch.nn import functional as F
from pictures import read_arguments, save_grid
from progress import ProgressBar

CODE, BATCH = 8, 128


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 2 * CODE))
        self.decoder = nn.Sequential(nn.Linear(CODE, 256), nn.ReLU(), nn.Linear(256, 784))

    def forward(self, x):
        """Scores of the pixels, and the normal distribution of each code: its mean, log of its variance."""
        mean, log_var = self.encoder(x).chunk(2, dim=1)
        code = mean + torch.randn(mean.shape) * (log_var * 0.5).exp()
        return self.decoder(code), mean, log_var


def loss_of(model, x):
    """How unlikely the images are, and how far the codes are from normal numbers; for each image."""
    scores, mean, log_var = model(x)
    pixels = F.binary_cross_entropy_with_logits(scores, x, reduction="sum")
    codes = (mean.square() + log_var.exp() - log_var - 1).sum() * 0.5
    return (pixels + codes) / len(x)


def train(model, images, epochs: int) -> None:
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
    batches = len(images) // BATCH
    bar = ProgressBar(epochs * batches)
    for epoch in range(1, epochs + 1):
        order, total = torch.randperm(len(images)), 0.0
        for i in range(batches):
            optimizer.zero_grad()
            loss = loss_of(model, images[order[i * BATCH : (i + 1) * BATCH]])
            loss.backward()
            optimizer.step()
            total += loss.item()
            bar.update((epoch - 1) * batches + i + 1, f"loss {loss.item():.4f}")
        bar.write(f"epoch {epoch} loss {total / batches:.4f}")


def main() -> None:
    images, epochs, folder = read_arguments(__doc__)
    images = images.div(255).reshape(-1, 784)
    torch.manual_seed(0)
    model = VAE()
    train(model, images, epochs)
    with torch.no_grad():
        copies = torch.sigmoid(model(images[:40])[0])
        pairs = torch.stack([images[:40].reshape(4, 10, 784), copies.reshape(4, 10, 784)], dim=1)
        save_grid(pairs.reshape(80, 1, 28, 28), 10, os.path.join(folder, "vae_copies.png"))
        samples = torch.sigmoid(model.decoder(torch.randn(80, CODE)))
        save_grid(samples.reshape(80, 1, 28, 28), 10, os.path.join(folder, "vae_samples.png"))


if __name__ == "__main__":
    main()
