// Follows server-sent events if the page comes from `stampede serve`. A page that is a file sends
// no request.

/** `lost`: the browser tries again. `gone`: the server is there, but refuses. */
export type Connection = "live" | "lost" | "gone" | "over";

/** Follows an address, if there is one, until the server says that no more events will come. */
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

/** Runs `act` at once or, while the pointer is pressed, when it is released: so nothing moves under
 * a drag. If several wait, only the last one runs. */
export function whenLetGo(act: () => void): void {
  if (isPressed) waiting = act;
  else act();
}

/** Watches the pointer for `whenLetGo`. */
export function watchPointer(): void {
  const up = () => {
    isPressed = false;
    const act = waiting;
    waiting = null;
    // Releasing the pointer may cause a click: `act` runs after it.
    if (act) setTimeout(act);
  };
  addEventListener("pointerdown", () => { isPressed = true; }, { capture: true });
  for (const end of ["pointerup", "pointercancel", "blur"]) addEventListener(end, up, { capture: true });
}
