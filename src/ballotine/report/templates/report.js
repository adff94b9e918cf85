(() => {
  "use strict";
  const root = document.documentElement;
  const source = JSON.parse(document.getElementById("figures").textContent);
  const settings = { displayModeBar: false, scrollZoom: false };
  const family = getComputedStyle(document.body).fontFamily;

  // Colours arrive as names of CSS variables, so that one set of figures serves every theme.
  const themed = (node, key, style) => {
    if (Array.isArray(node)) return node.map((item) => themed(item, key, style));
    if (node && typeof node === "object") {
      return Object.fromEntries(
        Object.entries(node).map(([inner, value]) => [inner, themed(value, inner, style)]),
      );
    }
    const variable = /color/.test(key) && typeof node === "string" && /^var\((--[a-z-]+)\)$/.exec(node);
    return variable ? style.getPropertyValue(variable[1]).trim() : node;
  };

  let paper = false;
  const draw = () => {
    root.classList.toggle("paper", paper);
    const style = getComputedStyle(root);
    for (const [name, figure] of Object.entries(source)) {
      const place = document.getElementById(`figure-${name}`);
      const layout = themed(figure.layout, "layout", style);
      layout.font.family = family;
      layout.width = place.clientWidth;
      if (paper) {
        layout.width = place.closest(".pair") ? 312 : 640;
        layout.height *= 0.72;
      }
      Plotly.react(place, themed(figure.data, "data", style), layout, settings);
    }
  };

  root.classList.add("drawn");
  try {
    draw();
  } catch (problem) {
    root.classList.remove("drawn");
    throw problem;
  }
  let next = 0;
  addEventListener("resize", () => {
    cancelAnimationFrame(next);
    next = requestAnimationFrame(draw);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  // On paper the page is narrower than the window and always light.
  addEventListener("beforeprint", () => { paper = true; draw(); });
  addEventListener("afterprint", () => { paper = false; draw(); });
})();
