module conformance

go 1.19

require dumbtorch v0.0.0

replace dumbtorch => ../../wrappers/go
