// A CNN on real images, trained by hand: zero_grad, forward, loss, backward, step. The programs of
// the other languages are the same and print the same losses.
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

func train(folder string, steps int, device dt.Device) {
	images := read(folder+"/train-images-idx3-ubyte.gz", device, dt.Float32)
	labels := read(folder+"/train-labels-idx1-ubyte.gz", device, dt.Int64)
	images = dt.Must(dt.Must(images.Div(255)).Unsqueeze(1))

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
	optimizer := dt.Must(dt.OptimAdam(parameters, dt.OptimAdamOptions{Lr: dt.P(0.001)}))
	n := dt.Must(labels.Size(0))
	for step := 0; step < steps; step++ {
		first := step * batch % (n - batch)
		x, target := dt.Must(images.Narrow(0, first, batch)), dt.Must(labels.Narrow(0, first, batch))
		dt.Check(optimizer.ZeroGrad())
		loss := dt.Must(dt.CrossEntropy(dt.Must(model.Forward(x)), target))
		dt.Check(loss.Backward())
		dt.Check(optimizer.Step())
		if step%10 == 0 || step == steps-1 {
			fmt.Printf("step %d loss %.4f\n", step, dt.Must(loss.Item()))
		}
	}
}
