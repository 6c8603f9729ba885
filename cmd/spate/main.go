// Command spate runs and controls pipelines that a file describes.
package main

import "github.com/spate-go/spate/pkg/app"

func main() { app.Main(app.Pipeline{}) }
