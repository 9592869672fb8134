import { age } from "./quantity.ts";
import { nowMs } from "./connection.ts";

/** How long ago, and on hover exactly when. */
export function Since({ time }: { time: string }) {
  const seconds = Math.max(0, (nowMs.value - Date.parse(time)) / 1000);
  return <time dateTime={time} title={new Date(time).toLocaleString()}>{age(seconds)} ago</time>;
}
