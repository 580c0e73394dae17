// Reads a JSON list of Kubernetes objects from stdin and prints the result of kstatus for each, as a JSON list.
package main

import (
	"encoding/json"
	"io"
	"log"
	"os"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kubejson "k8s.io/apimachinery/pkg/util/json"
)

func main() {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		log.Fatal(err)
	}
	// Whole numbers have to become int64, as a client of the API server would have them.
	var objects []any
	if err := kubejson.Unmarshal(text, &objects); err != nil {
		log.Fatal(err)
	}
	results := make([]string, 0, len(objects))
	for _, object := range objects {
		result, err := status.Compute(&unstructured.Unstructured{Object: object.(map[string]any)})
		if err != nil {
			log.Fatal(err)
		}
		results = append(results, result.Status.String())
	}
	if err := json.NewEncoder(os.Stdout).Encode(results); err != nil {
		log.Fatal(err)
	}
}
