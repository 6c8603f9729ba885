package unit

// IdentifyPacked is the id under the packing rules of another version.
func IdentifyPacked(packing uint32, objects []Object, r *Range) ID {
	return identify(packing, objects, r)
}
