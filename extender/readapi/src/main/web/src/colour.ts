/** Cividis: perceptually uniform, and safe for colour-blind readers (Nuñez, Anderton, Renslow 2018). */
const STOPS: readonly (readonly [number, number, number])[] = [
  [0, 34, 78], [18, 53, 112], [59, 73, 108], [87, 93, 109], [112, 113, 115],
  [138, 134, 120], [165, 156, 116], [195, 179, 105], [225, 204, 85], [254, 232, 56],
];

/** @param load 0 to 1; larger values count as 1 */
export function cividis(load: number): string {
  const at = Math.min(1, Math.max(0, load)) * (STOPS.length - 1);
  const from = STOPS[Math.floor(at)]!;
  const to = STOPS[Math.ceil(at)]!;
  const mixed = from.map((channel, i) => Math.round(channel + (to[i]! - channel) * (at % 1)));
  return `rgb(${mixed.join(" ")})`;
}
