// The shortest training run there is: a 2-4-1 network learns exclusive or.
//
//	go run ./xor
//
// It is run in examples/go; docs/learn.md says by which CGO_LDFLAGS it finds build/libdumbtorch.so.
package main

import (
	"fmt"

	dt "dumbtorch"
)

func main() {
	dt.Check(dt.ManualSeed(0))
	x := table(2, 0, 0, 0, 1, 1, 0, 1, 1)
	y := table(1, 0, 1, 1, 0)

	model := dt.Must(dt.Sequential(
		dt.Must(dt.NnLinear(2, 4)), dt.Must(dt.NnTanh()), dt.Must(dt.NnLinear(4, 1))))
	parameters := dt.Must(model.Parameters())
	optimizer := dt.Must(dt.OptimSgd(parameters, dt.OptimSgdOptions{Lr: dt.P(0.1)}))
	for epoch := 1; epoch <= 1000; epoch++ {
		dt.Check(optimizer.ZeroGrad())
		loss := dt.Must(dt.MseLoss(dt.Must(model.Forward(x)), y))
		dt.Check(loss.Backward())
		dt.Check(optimizer.Step())
		if epoch%100 == 0 {
			fmt.Printf("epoch %d loss %.6f\n", epoch, dt.Must(loss.Item()))
		}
	}

	dt.Check(dt.NoGrad(func() error {
		points, answers := dt.Must(dt.ToNumbers(x)), dt.Must(dt.ToNumbers(dt.Must(model.Forward(x))))
		for i, answer := range answers {
			fmt.Printf("%.0f xor %.0f = %.3f\n", points[2*i], points[2*i+1], answer)
		}
		return nil
	}))
}

// table makes a tensor of four rows.
func table(columns int, numbers ...float64) *dt.Tensor {
	return dt.Must(dt.FromNumbers(numbers, dt.FromNumbersOptions{Size: []int{4, columns}}))
}
