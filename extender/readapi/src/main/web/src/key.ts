/** By uuid, since MIG devices of one GPU share an index. */
export const gpuKey = (gpu: { node: string; uuid: string }) => `${gpu.node}/${gpu.uuid}`;
export const podKey = (pod: { namespace: string; name: string }) => `${pod.namespace}/${pod.name}`;

/** The rows by name; a row may have several names. */
export function gather<T>(rows: readonly T[], names: (row: T) => readonly string[]): Map<string, T[]> {
  const found = new Map<string, T[]>();
  for (const row of rows) {
    for (const name of names(row)) {
      const same = found.get(name);
      if (same) same.push(row);
      else found.set(name, [row]);
    }
  }
  return found;
}

/** Works each row out once: a row that changes is another object. */
export function once<K extends object, V extends object>(made: (row: K) => V): (row: K) => V {
  const known = new WeakMap<K, V>();
  return (row) => {
    let value = known.get(row);
    if (!value) known.set(row, (value = made(row)));
    return value;
  };
}
