// The generator's theme, with fixes for the keyboard and screen readers: tables that are wider than the screen, and
// elements that act as buttons but are not.

import {
  SearchButton as GeneratorsSearchButton,
  SwitchAppearance as GeneratorsSwitch,
  getCustomMDXComponent as getGeneratorsComponents,
} from "@rspress/core/theme-original";
import { useEffect, useRef, useState } from "react";

export * from "@rspress/core/theme-original";

export function getCustomMDXComponent() {
  return { ...getGeneratorsComponents(), table: ScrollingTable };
}

export function SwitchAppearance(props) {
  return (
    <Pressable selector=".rp-switch-appearance" label="Light or dark">
      <GeneratorsSwitch {...props} />
    </Pressable>
  );
}

export function SearchButton(props) {
  return (
    <Pressable selector=".rp-search-button--mobile" label="Search">
      <GeneratorsSearchButton {...props} />
    </Pressable>
  );
}

function ScrollingTable(props) {
  const frame = useRef(null);
  // Before it is measured, and where no script runs, it may be too wide.
  const [isWide, setIsWide] = useState(true);
  useEffect(() => {
    const element = frame.current;
    const observer = new ResizeObserver(() => setIsWide(element.scrollWidth > element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return (
    <div ref={frame} className="rp-table-scroll-container rp-scrollbar" tabIndex={isWide ? 0 : undefined}>
      <table {...props} />
    </div>
  );
}

/** Turns the element within it, which reacts only to the mouse, into a button. */
function Pressable({ selector, label, children }) {
  const frame = useRef(null);
  useEffect(() => {
    const element = frame.current.querySelector(selector);
    element.setAttribute("role", "button");
    element.setAttribute("tabindex", "0");
    element.setAttribute("aria-label", label);
    const press = (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      element.click();
    };
    element.addEventListener("keydown", press);
    return () => element.removeEventListener("keydown", press);
  }, [selector, label]);
  return (
    <div ref={frame} style={{ display: "contents" }}>
      {children}
    </div>
  );
}
