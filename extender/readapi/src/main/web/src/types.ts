/** The types of openapi.yaml that the page reads. A test compares their fields. */
export type Amount = Readonly<{ gpus: GpuQuantity; memory: MemoryQuantity }>;

export type CandidateGpu = Readonly<{
  index: number;
  uuid: string;
  model: string;
  replicas: number;
  freeReplicas: number;
  largestShareReplicas: number;
  memory: MemoryQuantity;
  effective: Effective;
  message: string;
}>;

export type Change = Readonly<{
  resourceVersion: string;
  time: string;
  complete: boolean;
  clusterName?: string;
  gpus?: readonly GpuChange[];
  gpusRemoved?: readonly string[];
  pods?: readonly PodChange[];
  podsRemoved?: readonly string[];
  summary?: ClusterSummary;
}>;

export type ClusterSummary = Readonly<{
  cluster: Sums;
  models: readonly ModelSums[];
  modelCount: number;
  waitingPods: WaitingPods;
}>;

export type Decision = Readonly<{
  policy: string;
  time?: string;
  note?: string;
  chosen?: NodeFit;
  fitted: readonly NodeFit[];
  fittedCount: number;
  refused: readonly NodeFit[];
  refusedCount: number;
  refusedByReason: readonly NodeCount[];
  excludedCount?: number;
  smallerShare?: LargestShare;
}>;

export type Effective = Readonly<{ memoryFree: MemoryQuantity; sm?: GpuQuantity }>;

export type Gpu = Readonly<{
  node: string;
  index: number;
  uuid: string;
  model: string;
  resource: string;
  replicas: number;
  freeReplicas: number;
  largestShareReplicas: number;
  memory: MemoryQuantity;
  granted: Amount;
  others?: Amount;
  health: Health;
  healthReason?: string;
  overuse?: string;
  memoryOfNoPod?: MemoryQuantity;
  measured?: Measured;
  effective: Effective;
  holders: readonly Holder[];
  holderCount: number;
}>;

/** The whole row, or what of it changed; null is a field that is gone. */
export type GpuChange = Pick<Gpu, "node" | "uuid"> & Row;

export type GpuQuantity = string;

export type GpuShare = Readonly<{
  uuid: string;
  index: number;
  replicas: number;
  replicasPerGpu: number;
  limited?: Limited;
}>;

export type Health = "Healthy" | "Unhealthy" | "Cordoned" | "Draining" | "Silent";

export type History = Readonly<{
  time: string;
  node: string;
  stepSeconds: number;
  times: readonly string[];
  gpus: readonly HistoryGpu[];
}>;

export type HistoryGpu = Readonly<{
  uuid: string;
  index: number;
  sm: readonly (number | null)[];
  smMax: readonly (number | null)[];
  memory: readonly (number | null)[];
  granted: readonly (number | null)[];
}>;

export type Holder = Readonly<{
  namespace: string;
  name: string;
  uid: string;
  replicas: number;
  replicasPerGpu: number;
  stage: Stage;
  sm?: GpuQuantity;
  memory?: MemoryQuantity;
  idleSince?: string;
  overuses?: boolean;
}>;

export type LargestShare = Readonly<{ replicas: number; replicasPerGpu: number; node: string }>;
export type Limited = "Yes" | "OptedOut" | "Partly" | "No";

export type Measured = Readonly<{
  time: string;
  fresh: boolean;
  memory?: MemoryQuantity;
  sm?: GpuQuantity;
  smLast?: GpuQuantity;
  smActive?: GpuQuantity;
  smOccupancy?: GpuQuantity;
  tensorActive?: GpuQuantity;
  dramActive?: GpuQuantity;
}>;

export type MemoryQuantity = string;
export type ModelSums = Sums & Readonly<{ model: string }>;
export type NodeCount = Readonly<{ message: string; nodes: number }>;

export type NodeFit = Readonly<{
  node: string;
  message?: string;
  largestShareReplicas: number;
  gpus: readonly CandidateGpu[];
  chosenGpus?: readonly CandidateGpu[];
  score?: number;
}>;

export type Pod = Readonly<{
  namespace: string;
  name: string;
  uid: string;
  resource: string;
  requested: Requested;
  state: PodState;
  since?: string;
  node?: string;
  stage?: Stage;
  gpus?: readonly GpuShare[];
  granted?: Amount;
  waiting?: Waiting;
  used?: Used;
  idleSince?: string;
}>;

export type PodCount = Readonly<{ reason: string; message: string; pods: number }>;

export type PodChange = Pick<Pod, "namespace" | "name"> & Row;

export type PodDetail = Pod & Readonly<{
  annotations: Readonly<Record<string, string>>;
  decision?: Decision;
  schedulerMessage?: string;
}>;

export type PodState = "Waiting" | "Scheduling" | "Bound" | "Ended";

export type Requested = Readonly<{
  replicas: number;
  gpus?: number;
  share?: GpuQuantity;
  memory?: string;
  memoryLimit?: string;
  model?: string;
}>;

export type Row = Readonly<Record<string, unknown>>;

export type Stage = "Tentative" | "Binding" | "Bound" | "Confirmed";

export type Sums = Readonly<{ total: Amount; healthy: Amount; granted: Amount; used: UsedAmount }>;
export type Used = Readonly<{ gpus?: GpuQuantity; memory?: MemoryQuantity }>;
export type UsedAmount = Readonly<{ gpus: GpuQuantity; memory: MemoryQuantity; measuredGpus: number }>;

export type Waiting = Readonly<{
  reason: string;
  message: string;
  refusedNodes?: number;
  time?: string;
  whatToDo?: string;
}>;

export type WaitingPods = Readonly<{ total: number; byReason: readonly PodCount[] }>;
