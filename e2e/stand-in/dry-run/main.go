// Command dry-run answers what kube-scheduler's own code decides on a cluster: on which nodes its default plugins
// let a pod run, whom its dry run of a preemption would evict from the others, and which node it would choose. It
// reads a question from each line of its input, and writes an answer to a line of its output. Tests hold the
// extender against it.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	v1 "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	extender "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

type question struct {
	Nodes   []*v1.Node                    `json:"nodes"`
	Pods    []*v1.Pod                     `json:"pods"`
	Pod     *v1.Pod                       `json:"pod"`
	Budgets []*policy.PodDisruptionBudget `json:"budgets"`
	// Refused are the nodes that an extender's filter refuses.
	Refused []string `json:"refused"`
	// Kept is an extender's answer to an offer, by node: one of them is to be chosen.
	Kept map[string]victims `json:"kept"`
}

type victims struct {
	Uids       []string `json:"uids"`
	Violations int64    `json:"violations"`
}

type answer struct {
	// Fits are the nodes that the default plugins let the pod run on.
	Fits    []string           `json:"fits"`
	Victims map[string]victims `json:"victims"`
	// Chosen is one of the nodes that an extender has kept.
	Chosen string `json:"chosen"`
}

type candidate struct {
	name    string
	victims *extender.Victims
}

func (c candidate) Name() string               { return c.name }
func (c candidate) Victims() *extender.Victims { return c.victims }

// NumPodGroupDisruptions is asked for since 1.37; the questions have no pod groups.
func (c candidate) NumPodGroupDisruptions() int { return 0 }

type dryRun struct {
	cache     cache.Cache
	snapshot  *cache.Snapshot
	profile   framework.Framework
	evaluator *preemption.Evaluator
	logger    klog.Logger
}

// newDryRun takes the namespace of all pods. No informer is ever started, so the client calls nobody.
func newDryRun(ctx context.Context, namespace string) (*dryRun, error) {
	client, err := kubernetes.NewForConfig(&rest.Config{Host: "127.0.0.1:1"})
	if err != nil {
		return nil, err
	}
	watched := informers.NewSharedInformerFactory(client, 0)
	name := v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if err := watched.Core().V1().Namespaces().Informer().GetStore().Add(&name); err != nil {
		return nil, err
	}
	recorders := profile.NewRecorderFactory(events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()}))
	stock, err := scheduler.New(ctx, client, watched, nil, recorders)
	if err != nil {
		return nil, err
	}
	plugins := stock.Profiles[v1.DefaultSchedulerName]
	snapshot, ok := plugins.SnapshotSharedLister().(*cache.Snapshot)
	if !ok {
		return nil, fmt.Errorf("the scheduler's snapshot is a %T", plugins.SnapshotSharedLister())
	}
	args := config.DefaultPreemptionArgs{MinCandidateNodesPercentage: 10, MinCandidateNodesAbsolute: 100}
	preempt, err := defaultpreemption.New(ctx, &args, plugins, feature.Features{})
	if err != nil {
		return nil, err
	}
	return &dryRun{stock.Cache, snapshot, plugins, preempt.Evaluator, klog.FromContext(ctx)}, nil
}

func (d *dryRun) answer(ctx context.Context, q *question) (*answer, error) {
	defer d.clear(q)
	for _, node := range q.Nodes {
		d.cache.AddNode(d.logger, node)
	}
	for _, pod := range q.Pods {
		if err := d.cache.AddPod(d.logger, pod); err != nil {
			return nil, err
		}
	}
	if err := d.cache.UpdateSnapshot(d.logger, d.snapshot); err != nil {
		return nil, err
	}
	if q.Kept != nil {
		return d.choose(ctx, q)
	}
	return d.offer(ctx, q)
}

func (d *dryRun) clear(q *question) {
	for _, pod := range q.Pods {
		_ = d.cache.RemovePod(d.logger, pod)
	}
	for _, node := range q.Nodes {
		_ = d.cache.RemoveNode(d.logger, node)
	}
}

func (d *dryRun) offer(ctx context.Context, q *question) (*answer, error) {
	state := framework.NewCycleState()
	if _, status, _ := d.profile.RunPreFilterPlugins(ctx, state, q.Pod); !status.IsSuccess() {
		return nil, status.AsError()
	}
	nodes, err := d.snapshot.NodeInfos().List()
	if err != nil {
		return nil, err
	}
	refused := map[string]bool{}
	for _, name := range q.Refused {
		refused[name] = true
	}
	found := answer{Fits: []string{}, Victims: map[string]victims{}}
	var unschedulable []fwk.NodeInfo
	for _, node := range nodes {
		status := d.profile.RunFilterPluginsWithNominatedPods(ctx, state, q.Pod, node)
		switch {
		case status.Code() == fwk.Error:
			return nil, status.AsError()
		case status.IsSuccess():
			found.Fits = append(found.Fits, node.Node().Name)
			if refused[node.Node().Name] {
				unschedulable = append(unschedulable, node)
			}
		case status.Code() == fwk.Unschedulable:
			unschedulable = append(unschedulable, node)
		}
	}
	if len(unschedulable) == 0 {
		return &found, nil
	}
	// An error says that a node needs no victims by these plugins. kube-scheduler goes on with the others.
	offered, _, _ := d.evaluator.DryRunPreemption(ctx, state, q.Pod, unschedulable, q.Budgets, 0, int32(len(unschedulable)))
	for _, each := range offered {
		of := victims{Violations: each.Victims().NumPDBViolations}
		for _, pod := range each.Victims().Pods {
			of.Uids = append(of.Uids, string(pod.UID))
		}
		found.Victims[each.Name()] = of
	}
	return &found, nil
}

func (d *dryRun) choose(ctx context.Context, q *question) (*answer, error) {
	byUID := map[string]*v1.Pod{}
	for _, pod := range q.Pods {
		byUID[string(pod.UID)] = pod
	}
	var kept []preemption.Candidate
	for _, node := range q.Nodes {
		of, found := q.Kept[node.Name]
		if !found {
			continue
		}
		all := extender.Victims{NumPDBViolations: of.Violations}
		for _, uid := range of.Uids {
			pod := byUID[uid]
			if pod == nil {
				return nil, fmt.Errorf("no pod has uid %s", uid)
			}
			all.Pods = append(all.Pods, pod)
		}
		kept = append(kept, candidate{node.Name, &all})
	}
	best := d.evaluator.SelectCandidate(ctx, kept)
	if best == nil {
		return &answer{}, nil
	}
	return &answer{Chosen: best.Name()}, nil
}

func run() error {
	ctx := klog.NewContext(context.Background(), klog.Background())
	d, err := newDryRun(ctx, os.Args[1])
	if err != nil {
		return err
	}
	in := bufio.NewReader(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return nil
		}
		var q question
		if err := json.Unmarshal(line, &q); err != nil {
			return err
		}
		a, err := d.answer(ctx, &q)
		if err != nil {
			return err
		}
		if err := out.Encode(a); err != nil {
			return err
		}
	}
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: dry-run NAMESPACE")
		os.Exit(2)
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
