// A CNN on real images, trained by hand: zero_grad, forward, loss, backward, step. The programs of
// the other languages are the same and print the same losses and accuracy.
//
//	go run ./train_cnn [folder with the four IDX files] [steps] [cpu or cuda]
//
// It is run in examples/go; docs/learn.md says by which CGO_LDFLAGS it finds build/libdumbtorch.so.
package main

import (
	"fmt"
	"os"
	"strconv"

	dt "dumbtorch"
)

const batch = 64

func main() {
	folder, steps, device := "/usr/share/datasets/fashion-mnist", 100, "cpu"
	if len(os.Args) > 1 {
		folder = os.Args[1]
	}
	if len(os.Args) > 2 {
		steps, _ = strconv.Atoi(os.Args[2])
	}
	if len(os.Args) > 3 {
		device = os.Args[3]
	}
	train(folder, steps, dt.Must(dt.DeviceFromText(device)))
}

func read(path string, device dt.Device, dtype dt.Dtype) *dt.Tensor {
	return dt.Must(dt.Must(dt.ReadIdx(path)).To(dt.ToOptions{Device: device, Dtype: dtype}))
}

func readFiles(folder, name string, device dt.Device) (images, labels *dt.Tensor) {
	images = read(folder+"/"+name+"-images-idx3-ubyte.gz", device, dt.Float32)
	labels = read(folder+"/"+name+"-labels-idx1-ubyte.gz", device, dt.Int64)
	return dt.Must(dt.Must(images.Div(255)).Unsqueeze(1)), labels
}

// accuracy is the share of images that the model knows, in percent.
func accuracy(model *dt.Module, images, labels *dt.Tensor) float64 {
	const piece = 1000
	count, right := dt.Must(labels.Size(0)), 0
	dt.Check(dt.NoGrad(func() error {
		for first := 0; first < count; first += piece {
			n := piece
			if first+n > count {
				n = count - first
			}
			scores := dt.Must(model.Forward(dt.Must(images.Narrow(0, first, n))))
			guess := dt.Must(scores.Argmax(dt.ArgmaxOptions{Dim: dt.P(1)}))
			same := dt.Must(guess.Eq(dt.Must(labels.Narrow(0, first, n))))
			right += dt.Must(dt.Must(same.Sum()).Item()).(int)
		}
		return nil
	}))
	return 100 * float64(right) / float64(count)
}

func train(folder string, steps int, device dt.Device) {
	images, labels := readFiles(folder, "train", device)
	testImages, testLabels := readFiles(folder, "t10k", device)

	dt.Check(dt.ManualSeed(0))
	three, two := []int{3}, []int{2}
	same := dt.NnConv2dOptions{Padding: []int{1}, Device: device}
	on := dt.NnLinearOptions{Device: device}
	model := dt.Must(dt.Sequential(
		dt.Must(dt.NnConv2d(1, 8, three, same)), dt.Must(dt.NnRelu()), dt.Must(dt.NnMaxPool2d(two)),
		dt.Must(dt.NnConv2d(8, 16, three, same)), dt.Must(dt.NnRelu()), dt.Must(dt.NnMaxPool2d(two)),
		dt.Must(dt.NnFlatten()), dt.Must(dt.NnLinear(784, 64, on)), dt.Must(dt.NnRelu()),
		dt.Must(dt.NnLinear(64, 10, on))))
	parameters := dt.Must(model.Parameters())
	optimizer := dt.Must(dt.OptimAdam(parameters, dt.OptimAdamOptions{Lr: dt.P(0.003)}))
	schedule := dt.Must(dt.OptimCosineAnnealingLr(optimizer, steps))
	n := dt.Must(labels.Size(0))
	for step := 0; step < steps; step++ {
		first := step * batch % (n - batch)
		x, target := dt.Must(images.Narrow(0, first, batch)), dt.Must(labels.Narrow(0, first, batch))
		dt.Check(optimizer.ZeroGrad())
		loss := dt.Must(dt.CrossEntropy(dt.Must(model.Forward(x)), target))
		dt.Check(loss.Backward())
		dt.Check(optimizer.Step())
		dt.Check(schedule.Step())
		if step%10 == 0 || step == steps-1 {
			fmt.Printf("step %d loss %.4f\n", step, dt.Must(loss.Item()))
		}
	}
	fmt.Printf("test accuracy %.2f %%\n", accuracy(model, testImages, testLabels))
}
