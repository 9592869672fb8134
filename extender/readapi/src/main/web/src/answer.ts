/** Queries the read API, and repeats the query while the page is visible. */
import { useEffect, useState } from "preact/hooks";
import { ask, whyOf } from "./connection.ts";

/** Statuses of a reached limit: the extender limits the rate of some requests over all clients. */
const BUSY = [429, 503];

/**
 * The newest answer, or the reason why there is none; empty before the first.
 * @param againMs least time from an answer to the next request
 */
export function useAnswer<T>(path: string, againMs: number): T | string {
  const [found, setFound] = useState<T | string>("");
  useEffect(() => {
    const over = new AbortController();
    let again: ReturnType<typeof setTimeout>;
    const look = async () => {
      if (!document.hidden) {
        const next = await answer<T>(path, over.signal).catch(() => undefined);
        if (over.signal.aborted) return;
        if (next) setFound((last) => (next.busy && typeof last !== "string" ? last : next.found));
      }
      // The random part keeps pages that were opened together from sending their requests together.
      again = setTimeout(look, againMs * (1 + Math.random() / 2));
    };
    setFound("");
    void look();
    return () => {
      over.abort();
      clearTimeout(again);
    };
  }, [path]);
  return found;
}

async function answer<T>(path: string, over: AbortSignal): Promise<{ busy: boolean; found: T | string }> {
  const answer = await ask(path, over);
  const found = answer.ok ? ((await answer.json()) as T) : await whyOf(answer);
  return { busy: BUSY.includes(answer.status), found };
}
