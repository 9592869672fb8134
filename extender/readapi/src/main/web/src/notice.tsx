/** Any problem, in one sentence, with what to do next. */
import { connection, heardMs, look, nowMs, useToken } from "./connection.ts";
import { age } from "./quantity.ts";
import { gpus, shownGpus, summary } from "./store.ts";
import { go, filter, shownPlace, wrongPlace } from "./url.ts";

/** The notice above the views. */
export function Notice() {
  const now = connection.value;
  if (now.state === "lost" && heardMs.value > 0) {
    return (
      <div class="notice" role="alert">
        <b>Connection lost.</b> This is {age((nowMs.value - heardMs.value) / 1000)} old. Reconnecting;
        if this lasts, check that the port-forward still runs. <button onClick={() => void look()}>Try now</button>
      </div>
    );
  }
  const wrong = wrongPlace.value || filter.value.wrong;
  return wrong ? <div class="notice" role="alert">{wrong}</div> : null;
}

/** Shown instead of the views; null if they have something to show. */
export function Instead() {
  const now = connection.value;
  if (now.state === "token") return <AskToken why={now.why} />;
  if (now.state === "forbidden") {
    return (
      <div class="empty" role="alert">
        <b>No permission.</b><span>{now.why}</span><button onClick={() => useToken("")}>Use another token</button>
      </div>
    );
  }
  if (!summary.value) {
    return now.state === "lost" || now.state === "refused" ? (
      <p class="empty" role="alert"><b>The extender does not answer.</b>{now.why}. Reconnecting.</p>
    ) : (
      <p class="empty" role="status"><b>Reading the cluster…</b></p>
    );
  }
  if (gpus.value.length === 0 && shownPlace.value.view !== "waiting") {
    return (
      <div class="empty">
        <b>No node has reported a GPU yet.</b>
        <span>See whether the node plugins run: <code>kubectl get pods -A -l app.kubernetes.io/component=node-plugin -o wide</code></span>
      </div>
    );
  }
  if (shownGpus.value.length === 0 && shownPlace.value.view === "map") {
    return (
      <p class="empty"><b>No GPU matches the filter.</b><button onClick={() => go({ q: "" })}>Clear the filter</button></p>
    );
  }
  return null;
}

function AskToken({ why }: { why: string }) {
  const submit = (event: Event) => {
    event.preventDefault();
    useToken(new FormData(event.target as HTMLFormElement).get("token") as string);
  };
  return (
    <form class="empty" onSubmit={submit}>
      <b>This port requires a token.</b>
      {why && <span role="alert">{why}</span>}
      <span>A ServiceAccount's, bound to the chart's ClusterRole for viewers: <code>kubectl create token NAME</code></span>
      <label>Token <input name="token" type="password" autocomplete="off" required /></label>
      <button>Show the cluster</button>
    </form>
  );
}
