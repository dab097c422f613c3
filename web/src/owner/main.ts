/** The data owner's screen: their rows, their choice, what is sent, and their record. Encoding happens in this page. */
import type { Preview } from "@tacit/client";
import { collections, type Demo, type SamplePerson } from "../shared/api.js";
import { type Child, h, show } from "../shared/dom.js";
import { open } from "../shared/frame.js";
import { number } from "../shared/numbers.js";
import { readersOf } from "../shared/readers.js";
import { type Round, roundsOf } from "../shared/rounds.js";
import { type Contract, type Service, serviceBudget } from "../shared/words.js";
import { leavesView, receiptView, stateBadge } from "./leaves.js";
import { privacyView } from "./privacy.js";
import { recordView } from "./record.js";
import { emptyRow, isComplete, type Row, rowsOfFile, rowsView } from "./rows.js";
import { accept, changes, changesView } from "./seen.js";
import { contractOf, keepSettings, readSettings, Session, type Settings, takeLink } from "./session.js";
import { FileError, placeTrouble } from "./trouble.js";

const WATCH_MILLISECONDS = 1_000;

/** Everything the screen shows follows from this. */
class Screen {
  readonly root = h("div", {});
  #rows: Record<string, Row[]> = {};
  /** Services whose report was drawn from `#rows`, in this page; those of other visits and tabs were drawn from rows that nothing keeps. */
  #encoded = new Set<string>();
  #service = "";
  #contracts: ReadonlyMap<string, Contract> = new Map();
  #readers: ReadonlyMap<string, string> = new Map();
  #preview: Preview | undefined;
  #trouble: unknown;
  #changed: { gone: string[]; came: string[] } | undefined;
  #busy = false;
  #done = Promise.resolve();
  #session: Session | undefined;

  constructor(readonly demo: Demo, readonly rounds: readonly Round[]) {
    for (const type of ["online", "offline"]) window.addEventListener(type, () => this.#update());
    setInterval(() => void this.#watch(), WATCH_MILLISECONDS);
  }

  /** Say what went wrong before the page was shown. */
  placed(): void {
    if (this.#trouble !== undefined) this.#draw();
  }

  /** Begin with the person of the last visit, or with the first of the demo. */
  async start(): Promise<void> {
    takeLink();
    const settings = readSettings();
    const played = this.demo.people?.find(({ person }) => person === settings.person) ?? this.demo.people?.[0];
    const person = played?.person ?? settings.person;
    if (person && this.rounds[0]) await this.#become(person, this.rounds[0]);
    else this.#draw();
  }

  async #become(person: string, round: Round, more: Partial<Settings> = {}): Promise<void> {
    const settings = { ...readSettings(), ...more, person };
    keepSettings(settings);
    await this.#try(async () => {
      const left = this.#session;
      const stays = left?.settings.person === person && left.round === round; // only settings change
      this.#session = undefined; // if opening fails, nobody else is shown
      this.#contracts = new Map();
      left?.close();
      const session = this.#session = await Session.open(round, settings, stays ? left.tier : undefined);
      void (await session.client()).isKept().then((kept) => {
        session.kept = kept;
        if (kept === false && this.#session === session) this.#update();
      });
      this.#service ||= round.services[0]!;
      this.#contracts = new Map(await Promise.all(round.tiers.map(async (tier) => [tier.id, await contractOf(tier)] as const)));
      this.#readers = new Map(await Promise.all(round.tiers.map(async ({ id }) => [id, await readersOf(id)] as const)));
      this.#changed = await changes(round, this.#session.tier.tier, this.#contract());
      if (!this.#changed) accept(round);
      if (!round.services.includes(this.#service)) this.#service = round.services[0]!; // rounds may ask for other things
      const sample = this.demo.people?.find((one) => one.person === person);
      if (!stays) {
        this.#rows = Object.fromEntries(this.#contract().services.map((service) => [service.name, rowsFor(service, sample)]));
        this.#encoded = new Set();
      }
      await this.#look();
    });
  }

  /** Show the report of the current service, if there is one. */
  async #look(): Promise<void> {
    const session = this.#session!;
    this.#preview = undefined; // if looking fails, nothing is shown under another service's name
    await session.refresh();
    const drawn = !["raw", "forgotten", "taken"].includes(session.state(this.#service));
    this.#preview = drawn ? await session.encode(this.#service, this.#rows[this.#service]!) : undefined;
  }

  /** The contract of the tier that is chosen now. */
  #contract(): Contract {
    return this.#contracts.get(this.#session!.tier.id)!;
  }

  /** Do one thing after another, and show what came of it. */
  #try(work: () => Promise<unknown>, focus?: string): Promise<void> {
    return this.#done = this.#done.then(async () => {
      this.#trouble = undefined;
      this.#busy = true;
      this.#draw();
      try {
        await work();
      } catch (cause) {
        this.#trouble = cause;
      }
      this.#busy = false;
      this.#draw(focus);
    });
  }

  /** See whether the client has sent what waited: it does so by itself when the network is back. */
  async #watch(): Promise<void> {
    const session = this.#session;
    const before = session?.waiting();
    if (!session || !before || this.#busy) return;
    await session.refresh();
    if (session.waiting() !== before) this.#update();
  }

  /** Draw what has changed by itself. Work that is under way draws when it is done: until then, half of it would be shown. */
  #update(): void {
    if (!this.#busy) this.#draw();
  }

  #draw(focus?: string): void {
    const active = document.activeElement;
    const id = focus ?? active?.id;
    if (active instanceof HTMLElement && this.root.contains(active)) active.blur(); // what it has to say comes first
    this.root.setAttribute("aria-busy", String(this.#busy));
    show(this.root, ...this.#parts());
    if (!this.root.isConnected) return; // the first drawing is shown by whoever opens the page
    const wrong = this.#trouble === undefined ? null : placeTrouble(this.#trouble);
    (wrong ?? (id ? document.getElementById(id) : null))?.focus();
  }

  #parts(): Child[] {
    const session = this.#session;
    const head = [
      h("h1", {}, "My data"),
      h("p", {}, "Your rows are perturbed in this page before anything is sent. Your key and the columns marked “unchanged” are sent without protection. " +
        "You choose how much anyone can learn about the rest, see every byte before it is sent, and decide whether to send it."),
      this.#who(),
      h("div", { id: "trouble" }),
    ];
    if (!session || !this.#contracts.size) return head;
    if (this.#changed) {
      return [...head, h("section", { class: "card" }, ...changesView(this.#changed, () => {
        accept(session.round);
        this.#changed = undefined;
        this.#draw();
      }))];
    }
    const service = this.#contract().services.find(({ name }) => name === this.#service)!;
    return [...head, this.#network(), this.#tabs(),
      h("div", { class: "grid" }, this.#data(service), this.#privacy(service)),
      this.#leaves(),
      h("section", { class: "card", "aria-label": "4 My record" }, h("h2", {}, "4  My record"), ...recordView({
        session,
        oncap: (change) => void this.#become(session.settings.person, session.round, change),
        onforget: () => void this.#try(async () => {
          const problem = await session.forget();
          await this.#look();
          if (problem) throw new Error(problem);
        }),
      }))];
  }

  /** The person: a choice among the demo's people, or their id in the services. */
  #who(): HTMLElement {
    const [people, session] = [this.demo.people, this.#session];
    const rounds = this.rounds.length > 1 && h("select", {
      id: "round", "aria-label": "Round",
      onchange: (event) => void this.#become(readSettings().person, this.rounds[(event.target as HTMLSelectElement).selectedIndex]!),
    }, ...this.rounds.map((one) => h("option", { selected: one === session?.round }, `${one.services.join(", ")} ${one.round}`)));
    if (people) {
      return h("p", { class: "row" }, h("label", { for: "person" }, "You are "), h("select", {
        id: "person",
        onchange: (event) => void this.#become((event.target as HTMLSelectElement).value, session?.round ?? this.rounds[0]!),
      }, ...people.map(({ person, name }) => h("option", { value: person, selected: person === session?.settings.person }, name))), rounds);
    }
    const { person, key } = readSettings();
    const [name, access] = [h("input", { id: "person", value: person, autocomplete: "off" }), h("input", { id: "key", value: key, autocomplete: "off" })];
    const file = h("input", { id: "file", type: "file", accept: "application/json" });
    file.addEventListener("change", () => void this.#try(async () => {
      const open = this.#contract().services.filter((service) => this.#session?.state(service.name) === "raw");
      if (file.files?.[0]) this.#rows = { ...this.#rows, ...await rowsOfFile(file.files[0], open).catch(() => { throw new FileError(`This file has no rows as JSON, such as {"${open[0]?.name ?? "shop"}": {…}}. Choose another one.`); }) };
    }));
    return h("form", {
      class: "row",
      onsubmit: (event) => {
        event.preventDefault();
        if (name.value && this.rounds[0]) void this.#become(name.value, session?.round ?? this.rounds[0], { key: access.value });
      },
    }, h("label", { for: "person" }, "Your services know you as "), name, h("label", { for: "key" }, "Key of this page, if it needs one "), access,
    h("button", {}, "Open"), rounds, session && h("label", { for: "file" }, "My rows from a file "), session && file);
  }

  #network(): Child {
    const waiting = this.#session!.waiting();
    if (!waiting && navigator.onLine) return false;
    const reports = waiting === 1 ? "1 report waits" : `${waiting} reports wait`;
    const words = waiting ? `${reports} on this device until the collector accepts them.`
      : "You are offline. You can encode; reports you submit wait on this device.";
    return h("p", { class: "notice", role: "status", id: "outbox" }, words, " ",
      waiting > 0 && h("button", { type: "button", onclick: () => void this.#try(async () => {
        const problem = await this.#session!.send();
        await this.#look();
        if (problem) throw new Error(problem);
      }) }, "Send now"));
  }

  #tabs(): HTMLElement {
    const session = this.#session!;
    return h("div", { class: "row tabs", role: "group", "aria-label": "Services" }, ...session.round.services.map((name) =>
      h("button", {
        type: "button", id: `service-${name}`, "aria-pressed": String(name === this.#service),
        onclick: () => void this.#try(async () => {
          this.#service = name;
          await this.#look();
        }, `service-${name}`),
      }, name, " ", stateBadge(session.state(name)))));
  }

  #data(service: Service): HTMLElement {
    const drawn = this.#preview !== undefined;
    const title = h("h2", {}, "1  My data ", h("small", {}, "perturbed before it is sent"));
    if (drawn && !this.#encoded.has(service.name)) {
      return h("section", { class: "card", "aria-label": "1 My data" }, title,
        h("p", { id: "rows-gone" }, "Your report for this round was drawn on an earlier visit or in another tab. This page does not store rows, " +
          "so it cannot show what the report was drawn from. Changed values count from the next round."));
    }
    return h("section", { class: "card", "aria-label": "1 My data" }, title,
      ...rowsView({ service, rows: this.#rows[service.name]!, drawn, onvalue: () => this.#judge(service), onchange: () => this.#draw() }),
      drawn && h("p", {}, h("small", {}, "The report for this round was drawn from these rows. Changed values count from the next round.")));
  }

  #privacy(service: Service): HTMLElement {
    const session = this.#session!;
    const locked = session.chosenTier() !== undefined;
    return h("section", { class: "card", "aria-label": "2 Privacy" }, h("h2", {}, "2  Privacy"),
      ...privacyView({
        session, service: service.name, contracts: this.#contracts, readers: this.#readers, locked, onchoose: () => this.#draw("tier"),
      }), ...this.#encode(service));
  }

  #encode(service: Service): Child[] {
    const session = this.#session!;
    const [cost, { left, cap, renews }] = [serviceBudget(service), session.budget];
    const state = session.state(service.name);
    if (state === "forgotten" || state === "taken") return [receiptView(session.receipt(service.name)!, state, session.budget)];
    if (this.#preview) {
      return [
        h("button", { type: "button", disabled: true, "aria-describedby": "why" }, "Encode again"),
        h("p", { id: "why" }, h("small", {}, "Not possible: a report is drawn once per round. Someone who saw several draws for one row could " +
          "average the noise away, and drawing until you like the result would reveal the row.")),
      ];
    }
    const [rows, over] = [this.#rows[service.name]!, cost > left + 1e-9];
    return [
      h("p", {}, `This report costs ε ${number(cost)}; you have ${number(left)} of ${number(cap)} left.`),
      h("button", {
        type: "button", id: "encode", class: "main", disabled: over || this.#busy || !isComplete(rows),
        onclick: () => void this.#try(async () => {
          await session.refresh(); // another tab may have encoded meanwhile, from other rows
          const first = session.state(service.name) === "raw";
          this.#preview = await session.encode(service.name, rows);
          if (first) this.#encoded.add(service.name);
          await this.#look();
        }, "submit"),
      }, "Encode"),
      over && h("p", { class: "notice", id: "over" }, `This would exceed your cap: ${service.name} costs ε ${number(cost)}, and ${number(left)} is left. ` +
        (renews ? `The oldest charge stops counting on ${renews}. ` : "") +
        `${session.chosenTier() ? "Wait for a later round" : "Choose a more private tier"}, let your cap renew, or raise it below.`),
      !over && h("p", { id: "incomplete", hidden: isComplete(rows) }, h("small", {}, "Fill in every value first.")),
    ];
  }

  /** Enable encoding as soon as every value is filled in, unless the wallet is being read: another tab may have encoded. */
  #judge(service: Service): void {
    const [button, hint] = [document.querySelector<HTMLButtonElement>("#encode"), document.querySelector<HTMLElement>("#incomplete")];
    const complete = isComplete(this.#rows[service.name]!);
    if (button && hint) [button.disabled, hint.hidden] = [this.#busy || !complete, complete];
  }

  #leaves(): Child {
    const session = this.#session!;
    const [service, preview] = [this.#service, this.#preview];
    const state = session.state(service);
    return h("section", { class: "card", "aria-label": "3 What is sent" }, h("h2", {}, "3  What is sent"),
      ...(preview ? leavesView(preview, this.#encoded.has(service) ? this.#rows[service]! : null, session.settings)
        : [h("p", { class: "soft" }, state === "taken" ? "Nothing is sent for this service: the collector already has your report."
          : "Nothing is encoded for this service yet. Encode it, look at it, then decide.")]),
      preview && state === "held" && h("p", { class: "row" },
        h("button", {
          type: "button", id: "submit", class: "main", disabled: this.#busy,
          onclick: () => void this.#try(async () => {
            const problem = await session.submit(service, this.#rows[service]!);
            await this.#look();
            if (problem) throw new Error(problem);
          }, "receipt"),
        }, "Submit"), h("small", {}, "It stays on this device until you submit it.")),
      preview && state !== "held" && receiptView(session.receipt(service)!, state, session.budget));
  }
}

function rowsFor(service: Service, sample: SamplePerson | undefined): Row[] {
  const given = sample?.rows[service.name];
  if (given) return given.map((row) => ({ ...row }));
  return service.at_most === undefined && !service.optional ? [emptyRow(service)] : [];
}

void open(async (demo) => {
  const rounds = roundsOf((await collections()).filter(({ panel }) => !panel)); // whose rounds apps ask in
  const screen = new Screen(demo, rounds);
  await screen.start();
  setTimeout(() => screen.placed());
  return [screen.root, !rounds.length && h("p", { class: "soft" }, "Nothing is collected here yet.")];
});
