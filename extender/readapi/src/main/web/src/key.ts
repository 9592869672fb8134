/** By uuid, since MIG devices of one GPU share an index. */
export const gpuKey = (gpu: { node: string; uuid: string }) => `${gpu.node}/${gpu.uuid}`;
export const podKey = (pod: { namespace: string; name: string }) => `${pod.namespace}/${pod.name}`;
