module dumbtorch

go 1.19
