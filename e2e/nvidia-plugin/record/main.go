// Prints NVIDIA's device plugin's response to one Allocate, as JSON, for every way in which it can give GPUs to
// a container: `record PLUGIN [OPTION...]`. See record.sh, which creates the simulated GPUs.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"regexp"
	"sort"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/protoadapt"
	kubelet "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const socket = kubelet.DevicePluginPath + "nvidia-gpu.sock"

// The key of a CDI annotation ends in a new UUID each time.
var answerID = regexp.MustCompile(`nvidia-device-plugin_[0-9a-f-]{36}`)

func main() {
	answers := map[string]any{}
	for _, list := range []string{"envvar", "volume-mounts", "cdi-annotations", "cdi-cri"} {
		for _, id := range []string{"uuid", "index"} {
			for _, specs := range []string{"false", "true"} {
				options := []string{"--device-list-strategy=" + list, "--device-id-strategy=" + id, "--pass-device-specs=" + specs}
				answer, err := record(os.Args[1], append(os.Args[2:], options...)...)
				if err != nil {
					log.Fatalf("%s: %v", options, err)
				}
				answers[strings.Join(options, " ")] = answer
			}
		}
	}
	text, err := json.MarshalIndent(answers, "", "  ")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(text))
}

func record(plugin string, options ...string) (any, error) {
	_ = os.Remove(socket)
	command := exec.Command(plugin, options...)
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		return nil, err
	}
	defer func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait()
	}()
	for i := 0; i < 100; i++ {
		if _, err := os.Stat(socket); err == nil {
			return ask()
		}
		time.Sleep(100 * time.Millisecond)
	}
	return nil, fmt.Errorf("no %s", socket)
}

// ask allocates two replicas of the second GPU and one of the first, in that order.
func ask() (any, error) {
	connection, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	client := kubelet.NewDevicePluginClient(connection)
	limit, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	list, err := client.ListAndWatch(limit, &kubelet.Empty{}, grpc.WaitForReady(true))
	if err != nil {
		return nil, err
	}
	first, err := list.Recv()
	if err != nil {
		return nil, err
	}
	ids := []string{}
	for _, device := range first.Devices {
		ids = append(ids, device.ID)
	}
	sort.Strings(ids)
	answer, err := client.Allocate(limit, &kubelet.AllocateRequest{
		ContainerRequests: []*kubelet.ContainerAllocateRequest{{DevicesIDs: []string{ids[2], ids[3], ids[0]}}},
	})
	if err != nil {
		return nil, err
	}
	return render(answer.ContainerResponses[0])
}

func render(answer *kubelet.ContainerAllocateResponse) (any, error) {
	text, err := protojson.Marshal(protoadapt.MessageV2Of(answer))
	if err != nil {
		return nil, err
	}
	var value any
	err = json.Unmarshal(answerID.ReplaceAll(text, []byte("nvidia-device-plugin_id")), &value)
	return value, err
}
