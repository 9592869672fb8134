import { age } from "./quantity.ts";
import { nowMs } from "./connection.ts";

/** The age of a time; the exact time on hover. */
export function Since({ time }: { time: string }) {
  const seconds = Math.max(0, (nowMs.value - Date.parse(time)) / 1000);
  return <time dateTime={time} title={new Date(time).toLocaleString()}>{age(seconds)} ago</time>;
}
