// Command intake is the function of a stack that makes units of announced objects.
package main

import (
	"github.com/spate-go/spate/pkg/app"
	"github.com/spate-go/spate/pkg/app/function"
)

func main() { function.Intake(app.Pipeline{}) }
