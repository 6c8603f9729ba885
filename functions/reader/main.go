// Command reader is the function of a stack that reads one unit per invocation.
package main

import (
	"github.com/spate-go/spate/pkg/app"
	"github.com/spate-go/spate/pkg/app/function"
)

func main() { function.Reader(app.Pipeline{}) }
