/* What the pages do by themselves: follow Airflow's colours, keep live parts fresh, count times, leave Airflow's frame.
   Without it every page can be read, and every form sent. */
"use strict";

(() => {
  const framed = window.parent !== window;
  const root = document.documentElement;

  /* --- Light and dark: Airflow's choice, else the system's. */
  function outside() {
    try { return framed ? window.parent.document.documentElement : null; } catch { return null; }
  }

  function follow() {
    const shell = outside();
    const chosen = shell ? (shell.classList.contains("dark") ? "dark" : shell.classList.contains("light") ? "light" : "")
      : localStorage.getItem("theme");
    if (chosen === "dark" || chosen === "light") root.dataset.theme = chosen;
    else delete root.dataset.theme;
    if (!shell) return;
    const given = window.parent.getComputedStyle(shell);
    for (const name of ["bg", "fg"]) {
      const colour = given.getPropertyValue(`--chakra-colors-${name}`).trim();
      if (/^(#|rgb|hsl|oklch|color)/.test(colour)) root.style.setProperty(`--${name}`, colour);
    }
  }

  if (framed) root.classList.add("framed");
  follow();
  if (outside()) new MutationObserver(follow).observe(outside(), { attributes: true, attributeFilter: ["class"] });
  window.addEventListener("storage", follow);

  /* --- Times. */
  function spell(seconds) {
    const s = Math.max(0, Math.floor(seconds));
    const two = (a, u, b, v) => (b ? `${a} ${u} ${b} ${v}` : `${a} ${u}`);
    if (s < 60) return `${s} s`;
    if (s < 3600) return two(Math.floor(s / 60), "min", s % 60, "s");
    if (s < 86400) return two(Math.floor(s / 3600), "h", Math.floor((s % 3600) / 60), "min");
    return two(Math.floor(s / 86400), "d", Math.floor((s % 86400) / 3600), "h");
  }

  function age(seconds) {
    const s = Math.max(0, Math.floor(seconds));
    if (s < 60) return "just now";
    if (s < 3600) return `${Math.floor(s / 60)} min ago`;
    if (s < 86400) return `${Math.floor(s / 3600)} h ago`;
    return `${Math.floor(s / 86400)} d ago`;
  }

  function ahead(seconds) {
    const s = Math.ceil(seconds);
    if (s <= 0) return "now";
    if (s < 60) return `in ${s} s`;
    if (s < 3600) return `in ${Math.floor(s / 60)} min`;
    return `in ${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  }

  function told(time, since) {
    if (time.hasAttribute("data-since")) return spell(since);
    if (time.hasAttribute("data-until")) return ahead(-since);
    return time.hasAttribute("data-ago") ? age(since) : null;
  }

  function count() {
    const now = Date.now();
    for (const time of document.querySelectorAll("time[datetime]")) {
      const since = (now - Date.parse(time.dateTime)) / 1000;
      const text = told(time, since);
      if (text !== null && time.textContent !== text) time.textContent = text;
    }
  }

  /* --- Live parts: asked for again while the page can be seen. An answer that is the same changes nothing. */
  const EVERY = 2500, SLOWEST = 30000;
  let turn = 0, waiting = null, failures = 0, lost = null, over = false;

  function say(state, text) {
    const light = document.getElementById("connection");
    if (!light) return;
    light.dataset.state = state;
    const words = light.querySelector(".words");
    if (words.textContent !== text) words.textContent = text;
  }

  /* The server is there, and does not give this part: why, in its own words where it has some. */
  class Refused extends Error {
    constructor(text, pause) { super(text); this.pause = pause; }
  }
  const REFUSALS = {
    403: "you may not see this any more", 404: "this is not there any more", 409: "this cannot be shown as things stand",
    422: "this address is not understood", 429: "this is asked for too often",
  };

  async function refusal(answer) {
    let words = REFUSALS[answer.status] || `the server refuses this (${answer.status})`;
    const body = await answer.text();
    if (answer.status !== 403 && body.includes('class="error-page"')) {
      const said = new DOMParser().parseFromString(body, "text/html").querySelector(".error-page h1 + p");
      if (said && said.textContent.trim()) words = `${words}: ${said.textContent.trim().slice(0, 200)}`;
    }
    return new Refused(words, Number(answer.headers.get("Retry-After")) * 1000 || 0);
  }

  async function refresh(part) {
    const asked = part.dataset.live;
    const answer = await fetch(asked, { cache: "no-cache", credentials: "same-origin" });
    if (answer.status === 401) { over = true; return; }
    if (answer.status >= 400 && answer.status < 500) throw await refusal(answer);
    if (!answer.ok) throw new Error(String(answer.status));
    const etag = answer.headers.get("ETag");
    if (etag && etag === part.dataset.etag) return;
    const text = await answer.text();
    // It was asked for something else meanwhile.
    if (!part.isConnected || part.dataset.live !== asked) return;
    await htmx.swap({ text, target: part, sourceElement: part, swap: "innerMorph" });
    if (etag) part.dataset.etag = etag;
    part.dispatchEvent(new CustomEvent("slipway:fresh", { bubbles: true }));
    count();
  }

  async function round() {
    clearTimeout(waiting);
    const mine = ++turn;
    const parts = [...document.querySelectorAll("[data-live]")];
    if (!parts.length || document.hidden || over) return;
    let refused = null;
    try {
      for (const part of parts) {
        try { await refresh(part); } catch (error) {
          if (!(error instanceof Refused)) throw error;
          refused = refused || error;
        }
      }
      failures = refused ? failures + 1 : 0;
      lost = null;
      if (refused) say("refused", refused.message);
      else if (!over) say("live", "live");
    } catch {
      failures += 1;
      lost = lost || new Date();
      const since = lost.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
      say("lost", `disconnected since ${since}; trying again`);
    }
    if (over) {
      say("over", "the session is over");
      document.getElementById("session-over")?.removeAttribute("hidden");
      return;
    }
    const pause = Math.min(EVERY * 2 ** Math.min(failures, 4), SLOWEST);
    if (mine === turn) waiting = setTimeout(round, Math.max(pause, refused ? refused.pause : 0));
  }

  document.addEventListener("visibilitychange", () => { if (!document.hidden) round(); });
  window.addEventListener("online", round);

  /* --- Out of Airflow's frame: its sandbox lets no link lead there, but a link of the parent's own may. */
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-outside]");
    if (!link || !framed || event.defaultPrevented) return;
    event.preventDefault();
    try {
      const outer = window.parent.document.createElement("a");
      outer.href = link.dataset.outside === "here" ? here(link.href) : link.href;
      if (link.dataset.outside === "new") { outer.target = "_blank"; outer.rel = "noopener noreferrer"; }
      window.parent.document.body.append(outer);
      outer.click();
      outer.remove();
    } catch { window.location.assign(link.href); }
  });

  /* The login comes back to where the person is: to the page with Airflow's frame. */
  function here(address) {
    const login = new URL(address);
    login.searchParams.set("next", window.parent.location.pathname + window.parent.location.search);
    return login.href;
  }

  /* --- Filters: while a person types, the part is asked for anew; the address keeps the filter. */
  let typing = null;
  function filter(form) {
    const part = document.querySelector(form.dataset.filter);
    const asked = new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ""));
    history.replaceState(history.state, "", `${location.pathname}?${asked}${location.hash}`);
    asked.set("part", "live");
    part.dataset.live = `${form.dataset.filterUrl}?${asked}`;
    delete part.dataset.etag;
    round();
  }
  document.addEventListener("input", (event) => {
    const form = event.target.form;
    if (!form || !form.dataset.filter) return;
    clearTimeout(typing);
    typing = setTimeout(() => filter(form), 250);
  });

  /* --- All marks of a page at once. */
  document.addEventListener("change", (event) => {
    if (!event.target.hasAttribute?.("data-mark-all")) return;
    for (const box of event.target.form.querySelectorAll("input[data-mark]")) box.checked = event.target.checked;
  });

  /* --- A graph that is larger than its box begins with the group at work, else with the first that failed. */
  function showWork() {
    for (const box of document.querySelectorAll(".drawing:has(.graph)")) {
      const found = box.querySelector(".group-processing") || box.querySelector(".group-error:not(.victim)");
      if (!found) continue;
      const here = box.getBoundingClientRect(), there = found.getBoundingClientRect();
      box.scrollLeft += there.left + there.width / 2 - here.left - here.width / 2;
      box.scrollTop += there.top + there.height / 2 - here.top - here.height / 2;
    }
  }

  document.addEventListener("DOMContentLoaded", () => {
    htmx.config.history = false;
    showWork();
    count();
    setInterval(count, 1000);
    waiting = setTimeout(round, EVERY);
  });

  /* What a person has opened stays open. */
  htmx.registerExtension("slipway-open", {
    htmx_before_morph_attr: (element, detail) => !(element.tagName === "DETAILS" && detail.attrName === "open"),
  });
})();
