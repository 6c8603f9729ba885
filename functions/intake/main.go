// Command intake is the function of a stack that makes units of the objects that
// a bucket announces.
package main

import (
	"github.com/spate-go/spate/pkg/app"
	"github.com/spate-go/spate/pkg/app/function"
)

func main() { function.Intake(app.Pipeline{}) }
