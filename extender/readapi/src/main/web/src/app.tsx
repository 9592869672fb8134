import { effect } from "@preact/signals";
import { render } from "preact";
import { Card, hovered } from "./card.tsx";
import { connection, heardMs, lookWhileSeen, nowMs } from "./connection.ts";
import { close, Drawer } from "./drawer.tsx";
import { Headline } from "./headline.tsx";
import { Help, helping } from "./help.tsx";
import { follow, GpuMap, letTabIn, showOpen } from "./map.tsx";
import { Instead, Notice } from "./notice.tsx";
import { age } from "./quantity.ts";
import { clusterName, gpus, summary, time } from "./store.ts";
import { GpuTable } from "./table.tsx";
import { go, link, place, shownPlace, VIEWS } from "./url.ts";
import { Waiting, WaitingBelow } from "./waiting.tsx";
import { Waste } from "./waste.tsx";

const NAMES = { map: "Map", waiting: "Waiting", waste: "Waste" };

function App() {
  return (
    <>
      <header>
        <h1>{clusterName.value || "Tranche"}</h1>
        <nav aria-label="Views">
          {VIEWS.map((view) => (
            <a href={link({ view })} onClick={follow({ view })} aria-current={place.value.view === view ? "page" : undefined}>
              {NAMES[view]}<Waits view={view} />
            </a>
          ))}
        </nav>
        <input
          id="filter"
          type="search"
          aria-label="Filter"
          placeholder="Filter: model:H100 ns:team-a load>80   /"
          spellcheck={false}
          value={place.value.q}
          onInput={(event) => go({ q: event.currentTarget.value }, true)}
        />
        <Status />
        <button class="ask" aria-label="Help" onClick={() => (helping.value = true)}>?</button>
      </header>
      <main>
        <Notice />
        <Headline />
        <View />
      </main>
      <Drawer />
      <Card />
      <Help />
    </>
  );
}

function View() {
  const instead = Instead();
  if (instead) return instead;
  const { view, as } = shownPlace.value;
  if (view === "waiting") return <Waiting />;
  if (view === "waste") return <Waste />;
  return <>{as === "table" ? <GpuTable /> : <GpuMap />}<WaitingBelow /></>;
}

function Waits({ view }: { view: string }) {
  const total = summary.value?.waitingPods.total ?? 0;
  return view === "waiting" && total > 0 ? <span class="badge">{total}</span> : null;
}

function Status() {
  const { state } = connection.value;
  const old = heardMs.value === 0 ? "" : age((nowMs.value - heardMs.value) / 1000);
  // By the extender's clock, in this machine's time zone.
  const clock = time.value && new Date(time.value).toLocaleTimeString([], { hour12: false });
  return (
    <>
      {clock && <time class="clock" dateTime={time.value}>{clock}</time>}
      <p class={`status ${state}`}>
        {state === "live" ? "live" : state === "lost" && old ? `${old} old` : state === "connecting" ? "connecting" : "no data"}
      </p>
    </>
  );
}

function keys(event: KeyboardEvent) {
  const typing = (event.target as HTMLElement).matches("input, textarea");
  if (event.key === "Escape") {
    if (helping.value) return;
    if (typing) (event.target as HTMLElement).blur();
    else if (place.value.gpu || place.value.pod) close();
    hovered.value = undefined;
  } else if (!typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    if (event.key === "/") {
      event.preventDefault();
      document.getElementById("filter")?.focus();
    } else if (event.key === "?") {
      helping.value = true;
    } else if ((event.key === "Enter" || event.key.startsWith("Arrow")) && document.activeElement === document.body) {
      // Nothing has the focus yet, as after loading.
      const cell = document.querySelector<HTMLElement>(".cell[tabindex='0'], a[data-key]");
      if (!cell) return;
      event.preventDefault();
      cell.focus();
      if (event.key === "Enter") cell.click();
    }
  }
}

addEventListener("keydown", keys);
render(<App />, document.getElementById("app")!);
effect(() => void (document.title = clusterName.value ? `${clusterName.value} · Tranche` : "Tranche"));
// The page moves its cells only after the drawer is drawn, since moving a thousand of them would delay it.
effect(() => void document.body.classList.toggle("beside", Boolean(shownPlace.value.gpu || shownPlace.value.pod)));
effect(() => {
  void [gpus.value, shownPlace.value, place.value];
  requestAnimationFrame(() => {
    letTabIn();
    showOpen();
  });
});
lookWhileSeen();
