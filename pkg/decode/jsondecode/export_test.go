package jsondecode

// Comparisons is with how many names a key of a record is compared, at most, to
// find which of paths it is.
func Comparisons(paths ...Path) (most int) {
	root, _ := plan(paths)
	for i := range root.list {
		most = max(most, len(root.among([]byte(root.list[i].key))))
	}
	return most
}
