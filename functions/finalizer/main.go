// Command finalizer is the function of a stack that ends jobs and sends what is due again.
package main

import (
	"github.com/spate-go/spate/pkg/app"
	"github.com/spate-go/spate/pkg/app/function"
)

func main() { function.Finalizer(app.Pipeline{}) }
