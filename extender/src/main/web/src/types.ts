/** Rows as the read API sends them; docs/api.md says what each field means. */

export interface Amount {
  readonly gpus: string;
  readonly memory: string;
}

export interface Holder {
  readonly namespace: string;
  readonly name: string;
  readonly replicas: number;
  readonly replicasPerGpu: number;
  readonly stage: string;
  readonly sm?: string;
  readonly memory?: string;
}

export interface Gpu {
  readonly node: string;
  readonly index: number;
  readonly uuid: string;
  readonly model: string;
  readonly resource: string;
  readonly replicas: number;
  readonly freeReplicas: number;
  readonly memory: string;
  readonly granted: Amount;
  readonly health: string;
  readonly healthReason?: string;
  readonly measured?: {
    readonly time: string;
    readonly fresh: boolean;
    readonly memory: string;
    readonly sm?: string;
  };
  readonly effective: { readonly memoryFree: string; readonly sm?: string };
  readonly holders: readonly Holder[];
  readonly holderCount: number;
}

export interface Pod {
  readonly namespace: string;
  readonly name: string;
  readonly resource: string;
  readonly state: string;
  readonly node?: string;
  readonly stage?: string;
  readonly gpus?: readonly {
    readonly uuid: string;
    readonly index: number;
    readonly replicas: number;
    readonly replicasPerGpu: number;
  }[];
  readonly granted?: Amount;
  readonly used?: Partial<Amount>;
  readonly waiting?: {
    readonly reason: string;
    readonly message: string;
    readonly refusedNodes?: number;
    readonly time?: string;
  };
}

export interface Sums {
  readonly total: Amount;
  readonly healthy: Amount;
  readonly granted: Amount;
  readonly used: Amount & { readonly measuredGpus: number };
}

export interface Summary {
  readonly cluster: Sums;
  readonly models: readonly (Sums & { readonly model: string })[];
  readonly waitingPods: {
    readonly total: number;
    readonly byReason: readonly {
      readonly reason: string;
      readonly message: string;
      readonly pods: number;
    }[];
  };
}

export interface Candidate {
  readonly node: string;
  readonly message?: string;
  readonly score?: number;
  readonly gpus: readonly {
    readonly index: number;
    readonly uuid: string;
    readonly model: string;
    readonly message: string;
  }[];
}

/** The largest share that would fit now. */
export interface SmallerShare {
  readonly replicas: number;
  readonly replicasPerGpu: number;
  readonly node: string;
}

export interface PodDetail extends Pod {
  readonly annotations: Readonly<Record<string, string>>;
  readonly decision?: {
    readonly policy: string;
    readonly time?: string;
    readonly note?: string;
    readonly smallerShare?: SmallerShare;
    readonly chosen?: Candidate;
    readonly fitted: readonly Candidate[];
    readonly fittedCount: number;
    readonly refused: readonly Candidate[];
    readonly refusedCount: number;
  };
  readonly kubeScheduler?: {
    readonly message: string;
    readonly whatToDo: readonly string[];
  };
}

/** Columns with one value for each time; shares are from 0 to 1. */
export interface Track {
  readonly uuid: string;
  readonly sm: readonly (number | null)[];
  readonly smMax: readonly (number | null)[];
  /** bytes */
  readonly memory: readonly (number | null)[];
  readonly granted: readonly (number | null)[];
}

export interface History {
  readonly time: string;
  readonly stepSeconds: number;
  readonly times: readonly string[];
  readonly gpus: readonly Track[];
}

/** By uuid, since MIG devices of one GPU share an index. */
export const gpuKey = (gpu: { node: string; uuid: string }) => `${gpu.node}/${gpu.uuid}`;
export const podKey = (pod: { namespace: string; name: string }) => `${pod.namespace}/${pod.name}`;
