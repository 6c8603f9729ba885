// Command lister is the function of a stack that lists a prefix and makes units of it.
package main

import (
	"github.com/spate-go/spate/pkg/app"
	"github.com/spate-go/spate/pkg/app/function"
)

func main() { function.Lister(app.Pipeline{}) }
