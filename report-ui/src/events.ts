// Server-sent events, where the page comes from `stampede serve`. A page that is a file asks
// nobody.

/** `lost`: it is tried again. `gone`: the server is there and refuses. */
export type Connection = "live" | "lost" | "gone" | "over";

/** Follows an address, if there is one, until the server says that nothing more will come. */
export function follow(
  address: string, on: Record<string, (data: string) => void>, say: (state: Connection) => void,
): void {
  if (!address) return;
  const source = new EventSource(address);
  for (const [name, act] of Object.entries(on)) {
    source.addEventListener(name, (event) => act(String((event as MessageEvent).data)));
  }
  source.addEventListener("over", () => {
    source.close();
    say("over");
  });
  source.addEventListener("open", () => say("live"));
  source.addEventListener("error", () => say(source.readyState === EventSource.CLOSED ? "gone" : "lost"));
}

let isPressed = false;
let waiting: (() => void) | null = null;

/** Runs at once, or when the pointer is up: what is being dragged stays where it is. Of several
 * that wait only the last one runs. */
export function whenLetGo(act: () => void): void {
  if (isPressed) waiting = act;
  else act();
}

/** Watches the pointer, for `whenLetGo`. */
export function watchPointer(): void {
  const up = () => {
    isPressed = false;
    const act = waiting;
    waiting = null;
    // After the click that this may be.
    if (act) setTimeout(act);
  };
  addEventListener("pointerdown", () => { isPressed = true; }, { capture: true });
  for (const end of ["pointerup", "pointercancel", "blur"]) addEventListener(end, up, { capture: true });
}
