"use strict";
(() => {
  const specs = JSON.parse(document.getElementById("charts").textContent);
  const views = new Map();
  const AXES = ["x", "y"];
  const STEP = 0.2;

  /** The names of the zoomed axes of a chart: x, or x and y. */
  const axesOf = (view) => AXES.filter((axis) => "zoom_" + axis in view.getState().signals);
  const range = (view, axis) => view.signal("zoom_" + axis) || view.scale(axis).domain();

  /** Charts whose names begin alike are of the same tasks, and show the same part. */
  const together = (name) =>
    [...views].filter(([other]) => other.split(".")[0] === name.split(".")[0]).map(([, view]) => view);

  // Every view gets an array of its own: Vega does not notice one that another view has marked as seen.

  /** Give all charts of a group the ranges that follow from those of one of them; null shows everything. */
  const show = (name, change) => {
    const origin = views.get(name);
    const ranges = axesOf(origin).map((axis) => [axis, change && change(axis, range(origin, axis).map(Number))]);
    for (const view of together(name)) {
      for (const [axis, value] of ranges) view.signal("zoom_" + axis, value && [...value]);
      view.runAsync();
    }
  };
  const scaled = (factor) => (axis, [low, high]) => {
    const middle = (low + high) / 2, half = ((high - low) / 2) * factor;
    return [middle - half, middle + half];
  };
  const moved = (along, by) => (axis, [low, high]) =>
    axis === along ? [low + by * (high - low), high + by * (high - low)] : [low, high];
  const ACTIONS = { in: scaled(0.5), out: scaled(2), all: null };
  const KEYS = {
    "+": ACTIONS.in, "=": ACTIONS.in, "-": ACTIONS.out, "0": null,
    ArrowLeft: moved("x", -STEP), ArrowRight: moved("x", STEP),
    ArrowUp: moved("y", -STEP), ArrowDown: moved("y", STEP),
  };

  /** What the mouse does to one chart happens to the others of its group, once it has been drawn itself. */
  const follow = (name, view) => {
    const pass = () => {
      for (const other of together(name)) {
        const different = axesOf(view).filter((axis) => String(range(other, axis)) !== String(range(view, axis)));
        for (const axis of different) other.signal("zoom_" + axis, [...range(view, axis)]);
        if (different.length) other.runAsync();
      }
    };
    for (const axis of axesOf(view)) view.addSignalListener("zoom_" + axis, () => setTimeout(pass));
  };

  const draw = async (element) => {
    const name = element.dataset.chart;
    const options = { renderer: "svg", actions: false, tooltip: { theme: "report" } };
    const { view } = await vegaEmbed(element, specs[name], options);
    views.set(name, view);
    follow(name, view);
    element.addEventListener("keydown", (event) => {
      if (!(event.key in KEYS) || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      show(name, KEYS[event.key]);
    });
  };

  for (const button of document.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", () => show(button.dataset.of, ACTIONS[button.dataset.zoom]));
  }
  const elements = [...document.querySelectorAll("[data-chart]")];
  Promise.all(elements.map(draw)).then(
    () => { document.documentElement.dataset.charts = "drawn"; },
    (error) => { document.documentElement.dataset.charts = "failed"; console.error(error); },
  );
})();
