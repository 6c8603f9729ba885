package filesink

// File and NewOn let tests break the disk.
type File = file

func NewOn(o Options, on func(name string, flag int) (File, error)) (*Sink, error) {
	return open(o, on)
}

func OSFile(name string, flag int) (File, error) { return osFile(name, flag) }
