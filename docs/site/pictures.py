"""Make the pictures of the report's page: runs the example campaign in the embedded simulator, and
photographs its page in Chromium.

    ./bootstrap setup --all
    ./bootstrap exec python3 docs/site/pictures.py
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

IMAGES = Path(__file__).resolve().parents[1] / "images"
WORLD = "#w1"  # fgm_constant collides, fgm_improved reaches the goal
PICTURES = (
    ("report_overview", "", (1180, 1150), "light"),
    ("report_world", WORLD, (1280, 1230), "light"),
    ("report_world_dark_narrow", WORLD, (500, 1000), "dark"),
)
"""Name, part of the page, width and height in pixels, and color scheme."""


def main():
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if chromium is None:
        sys.exit("Chromium was not found; run apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        command = ["gz_testauto", "run", "example", "--simulator", "embedded", "--out", folder]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = Path(folder, "report.html").as_uri()
        for name, part, (width, height), scheme in PICTURES:
            tab = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
            tab.goto(page + part)
            tab.wait_for_selector("html[data-ready]")
            file = IMAGES / f"{name}.png"
            tab.screenshot(path=file)
            Image.open(file).convert("RGB").quantize(128).save(file, optimize=True)
            print(file)


if __name__ == "__main__":
    main()
