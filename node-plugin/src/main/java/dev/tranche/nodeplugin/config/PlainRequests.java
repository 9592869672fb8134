package dev.tranche.nodeplugin.config;

/** What a number of replicas means that a pod requests without an annotation. */
public enum PlainRequests {
  /** So many replicas, as under NVIDIA's plugin. */
  REPLICAS,
  /** The webhook has made it of whole GPUs. */
  GPUS
}
