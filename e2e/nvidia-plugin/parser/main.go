// Reads config files with the parser of NVIDIA's device plugin: `parser FOLDER`. Prints a JSON object with an entry
// for each file: what is in it, what remains of that in use, and the sharing strategy; or why it is refused.
package main

import (
	"encoding/json"
	"flag"
	"io"
	"log"
	"os"
	"path/filepath"

	config "github.com/NVIDIA/k8s-device-plugin/api/config/v1"
	"github.com/urfave/cli/v2"
	"k8s.io/klog/v2"
)

type verdict struct {
	Error    string                 `json:"error,omitempty"`
	Parsed   json.RawMessage        `json:"parsed,omitempty"`
	Used     json.RawMessage        `json:"used,omitempty"`
	Strategy config.SharingStrategy `json:"strategy,omitempty"`
}

func main() {
	// Its warnings about keys without effect.
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	files, err := filepath.Glob(filepath.Join(os.Args[1], "*"))
	if err != nil {
		log.Fatal(err)
	}
	verdicts := map[string]verdict{}
	for _, file := range files {
		verdicts[filepath.Base(file)] = read(file)
	}
	if err := json.NewEncoder(os.Stdout).Encode(verdicts); err != nil {
		log.Fatal(err)
	}
}

func read(file string) verdict {
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.String("config-file", file, "")
	// Without flags, only what the file says is set.
	read, err := config.NewConfig(cli.NewContext(cli.NewApp(), flags, nil), nil)
	if err != nil {
		return verdict{Error: err.Error()}
	}
	parsed := encode(read)
	config.DisableResourceNamingInConfig(read)
	return verdict{Parsed: parsed, Used: encode(read), Strategy: read.Sharing.SharingStrategy()}
}

func encode(read *config.Config) json.RawMessage {
	text, err := json.Marshal(read)
	if err != nil {
		log.Fatal(err)
	}
	return text
}
